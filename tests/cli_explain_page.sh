#!/usr/bin/env bash
# The pages of tessera explain, in a headless Chromium where there is one.
if ! command -v python3 >/dev/null; then
    echo "skipped: no python3"
    exit 77
fi
if ! "$1" explain tiled >/dev/null 2>&1; then
    echo "skipped: this build has no emulator"
    exit 77
fi
exec python3 -B "$(dirname "$0")/explain_page.py" "$1"
