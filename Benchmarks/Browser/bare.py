"""Pages without scripts of the chat page, for comparison."""

import http.server
import re
import threading

# Fetches pages of 100 messages one after the other, and shows them.
MISSED = """
<!doctype html>
<ol></ol>
<script>
  async function show(server, token, conversation, count) {
    const start = performance.now();
    const shown = [];
    let query = "limit=100";
    while (shown.length < count) {
      const url = `${server}/v1/conversations/${conversation}/messages?${query}`;
      const page = await (await fetch(url, { headers: { Authorization: `Bearer ${token}` } })).json();
      shown.unshift(...page.messages.map(({ sender, content }) => {
        const line = document.createElement("li");
        line.textContent = `${sender}: ${content.text}`;
        return line;
      }));
      query = `limit=100&cursor=${encodeURIComponent(page.older)}`;
    }
    document.querySelector("ol").append(...shown);
    return await probe.painted() - start;
  }
</script>
"""


class BarePages:
    """A web server for pages with fixed content."""

    def __init__(self):
        self.pages = {"/missed": MISSED}
        pages = self.pages

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = pages.get(self.path, "").encode()
                self.send_response(200 if body else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def copy(self, path, page):
        """Offers what a page shows at this moment, as HTML with the same style."""
        style = page.evaluate(
            "async () => await (await fetch(document.querySelector('[rel=stylesheet]').href)).text()"
        )
        html = re.sub(r"<script.*?</script>|<link.*?>", "", page.content(), flags=re.DOTALL)
        self.pages[path] = html.replace("</head>", f"<style>{style}</style></head>")

    def close(self):
        self.server.shutdown()
