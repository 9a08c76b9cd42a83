// @ts-check

/** Regular expressions for the clock, randomness and I/O of browsers. */
const impure = ["Date\\.now", "new Date\\(\\)", "Math\\.random", "performance", "crypto", "setTimeout", "setInterval"]
  .concat(["WebSocket", "indexedDB", "localStorage", "navigator", "window", "document", "globalThis", "console"])
  .concat(["async", "await"]);

/**
 * Returns the modules of a folder of the SDK with their source.
 *
 * @param {string} folder
 */
async function* modules(folder) {
  const url = new URL(`../sdk/${folder}/`, import.meta.url);
  for await (const { name } of Deno.readDir(url)) {
    // Comments can name what the code must not use.
    const source = (await Deno.readTextFile(new URL(name, url))).replaceAll(/\/\*[^]*?\*\/|\/\/.*/g, "");
    yield { name: `${folder}/${name}`, source };
  }
}

for (const folder of ["model", "sync"]) {
  Deno.test(`Modules of ${folder} use no clock, no randomness and no I/O`, async () => {
    for await (const { name, source } of modules(folder)) {
      const found = impure.find((word) => new RegExp(`(?<![.\\w])${word}(?!\\w)`).test(source));
      if (found !== undefined) throw new Error(`${name} uses ${found}.`);
    }
  });
}

Deno.test("Modules import only their own layer and those below", async () => {
  const allowed = { model: /^\.\//, sync: /^\.\/|^\.\.\/model\// };
  for (const folder of /** @type {const} */ (["model", "sync"])) {
    for await (const { name, source } of modules(folder)) {
      for (const [, path = ""] of source.matchAll(/\bfrom "(.*)"/g)) {
        if (!allowed[folder].test(path)) throw new Error(`${name} imports ${path}.`);
      }
    }
  }
});
