#!/usr/bin/env bash
# Writes the type declarations (.d.ts) of the browser SDK to .build/web-declarations, and checks that a TypeScript
# program can use them. Installs tsc (on Debian, the package node-typescript) if it is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v tsc >/dev/null || scripts/install-dependencies.sh node-typescript
output=.build/web-declarations
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
rm -rf $output
cp -r Web/sdk "$copy/sdk"
# deno checks the modules with a newer compiler. Debian's version would refuse some of them.
find "$copy/sdk" -name '*.js' -exec sed -i 's|^// @ts-check$||' {} +
# No packages of type declarations are used.
options=(--target esnext --module esnext --moduleResolution node --lib esnext,dom,dom.iterable --strict)
options+=(--typeRoots "$copy/none")
find "$copy/sdk" -name '*.js' -exec tsc "${options[@]}" --allowJs --declaration --emitDeclarationOnly \
    --rootDir "$copy/sdk" --outDir $output {} +
cp Web/declarations/consumer.ts $output/consumer.ts
tsc "${options[@]}" --noEmit $output/consumer.ts
rm $output/consumer.ts
echo "declarations: $(find $output -name '*.d.ts' | wc -l) files in $output"
