#!/usr/bin/env bash
# Builds a small app that takes the product `Scrollback` alone, and sees that no server package came with it.
set -euo pipefail
cd "$(dirname "$0")/../Examples/OutsideApp"
swift build --scratch-path ../../.build-outside
for package in hummingbird jwt-kit async-http-client swift-argument-parser swift-configuration; do
    if [ -d ../../.build-outside/checkouts/$package ] && find ../../.build-outside/debug -maxdepth 1 -iname "${package//-/}*.build" | grep -q .; then
        echo "the outside app built $package: the product Scrollback must need no server package"
        exit 1
    fi
done
../../.build-outside/debug/OutsideApp
