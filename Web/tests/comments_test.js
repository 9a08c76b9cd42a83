// @ts-check

// The server leaves out the indentation of a script, and the lines that are comments (WebFile.swift).

/**
 * Returns the scripts of a folder, with those of its folders.
 *
 * @param {URL} folder
 * @returns {AsyncGenerator<URL>}
 */
async function* scripts(folder) {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) yield* scripts(new URL(`${name}/`, folder));
    else if (name.endsWith(".js")) yield new URL(name, folder);
  }
}

Deno.test("No text of a script has several lines", async () => {
  for (const folder of ["admin", "chat", "sdk"]) {
    for await (const url of scripts(new URL(`../${folder}/`, import.meta.url))) {
      // Only template literals have several lines. Every second part is between two backticks.
      const parts = (await Deno.readTextFile(url)).split("`");
      if (parts.length % 2 === 0) throw new Error(`${url} has a single backtick. Write it as \\x60.`);
      const found = parts.find((part, index) => index % 2 === 1 && part.includes("\n"));
      if (found !== undefined) {
        throw new Error(`${url} has a text of several lines, which the server changes: ${found}`);
      }
    }
  }
});
