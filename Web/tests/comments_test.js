// @ts-check

// The server leaves out the lines of a script that are comments (WebFile.swift).

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

Deno.test("No text of a script has a line that looks like a comment", async () => {
  for (const folder of ["admin", "chat", "sdk"]) {
    for await (const url of scripts(new URL(`../${folder}/`, import.meta.url))) {
      // Only template literals have several lines. Every second part is between two backticks.
      const parts = (await Deno.readTextFile(url)).split("`");
      if (parts.length % 2 === 0) throw new Error(`${url} has a single backtick. Write it as \\x60.`);
      const found = parts.find((part, index) => index % 2 === 1 && /\n *(\/\/|\/\*)/.test(part));
      if (found !== undefined) throw new Error(`${url} has a line that looks like a comment in the text ${found}`);
    }
  }
});
