"""The server, the network and the browsers of the browser tests."""
