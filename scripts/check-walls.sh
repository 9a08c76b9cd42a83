#!/usr/bin/env bash
# Which target may import which (Documentation/architecture.md, "Rooms"). Anything not listed here is through a wall.
set -euo pipefail
cd "$(dirname "$0")/.."
system='Foundation|FoundationNetworking|Dispatch|Synchronization|Network|Security|UIKit|Glibc|Darwin'
declare -A allowed=(
    [ScrollbackModel]=""
    [ScrollbackPictures]=""
    [ScrollbackWire]="ScrollbackModel"
    [ScrollbackSync]="ScrollbackModel"
    [StoreFiles]="ScrollbackModel|Crypto|GRDB|GRDBSQLite"
    [ScrollbackWords]="ScrollbackModel"
    [ScrollbackSearch]="ScrollbackModel|ScrollbackWords|GRDB"
    [CGD]=""
    [ScrollbackPictureScaling]="ScrollbackPictures|CGD|ImageIO|CoreGraphics|UniformTypeIdentifiers"
    [Scrollback]="ScrollbackModel|ScrollbackPictures|ScrollbackPictureScaling|AsyncHTTPClient|AVFoundation|Crypto|ImageIO|UniformTypeIdentifiers|ScrollbackSearch|ScrollbackWords|ScrollbackSync|ScrollbackWire|StoreFiles|GRDB|Logging|NIOCore|NIOPosix|NIOHTTP1|NIOWebSocket|NIOSSL"
    [ScrollbackUI]="Scrollback|Observation"
    [ScrollbackEngine]="ScrollbackModel|ScrollbackPictures|ScrollbackWire|ScrollbackWords|Crypto|DequeModule|HeapModule"
    [ScrollbackSQLite]="ScrollbackModel|ScrollbackWire|ScrollbackEngine|ScrollbackSearch|ScrollbackWords|StoreFiles|GRDB|GRDBSQLite"
    [ScrollbackPush]="ScrollbackModel|ScrollbackWire|ScrollbackEngine|AsyncHTTPClient|Crypto|JWTKit|NIOCore|NIOHTTP1|NIOHTTP2|NIOPosix|NIOSSL"
    [ScrollbackServer]="ScrollbackModel|ScrollbackPush|ScrollbackWire|ScrollbackEngine|ScrollbackSQLite|StoreFiles|AsyncHTTPClient|Configuration|Crypto|DequeModule|HTTPTypes|Hummingbird|HummingbirdCore|JWTKit|Logging|NIOCore|NIOExtras|NIOPosix|NIOHTTP1|NIOHTTPTypes|NIOHTTPTypesHTTP1|NIOWebSocket|NIOSSL|ServiceLifecycle|UnixSignals"
    [ScrollbackTesting]="ScrollbackModel|ScrollbackWire|ScrollbackEngine|Scrollback"
    [StoreConformance]="ScrollbackModel|ScrollbackEngine"
    [ScrollbackCLI]="ScrollbackModel|ScrollbackWire|Scrollback|ScrollbackServer|ScrollbackSQLite|StoreFiles|ArgumentParser|AsyncHTTPClient|Configuration|Crypto|Logging|NIOCore|NIOHTTP1|NIOPosix|NIOSSL|SystemPackage"
)
failed=0
for folder in Sources/*/; do
    target=$(basename "$folder")
    if [ -z "${allowed[$target]+known}" ]; then
        echo "Sources/$target is not in scripts/check-walls.sh: say there what it may import"
        failed=1
        continue
    fi
    pattern="$system${allowed[$target]:+|${allowed[$target]}}"
    while IFS=: read -r file line module; do
        echo "$file:$line: $target may not import $module"
        failed=1
    done < <(grep -rnE '^ *(@[A-Za-z_]+ )*(public |package |internal |private )?import ' "$folder" --include='*.swift' |
        sed -E 's/^([^:]+:[0-9]+):.*import +(struct |class |enum |protocol |func )?([A-Za-z0-9_]+).*/\1:\3/' |
        grep -vE ":($pattern)$" || true)
done
[ "$failed" -eq 0 ] && echo "walls: every import is allowed"
exit "$failed"
