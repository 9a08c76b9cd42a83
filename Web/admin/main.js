// The admin page. It uses the public API of the server that offers it, and nothing else.
import "./shell.js";
