#!/bin/sh
# Makes the archives that are unpacked into a panel: each module with the client library inside.
# Usage: integrations/build.sh FOLDER
set -eu

if [ $# -ne 1 ]; then
  echo "Name the folder for the archives: integrations/build.sh FOLDER" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
client=$here/../client/php
mkdir -p "$1"
out=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

add_library() {
  mkdir -p "$1/client"
  cp -R "$here/common/autoload.php" "$here/common/src" "$1/"
  cp -R "$client/autoload.php" "$client/src" "$1/client/"
  cp "$here/../LICENSE" "$1/"
}

mkdir "$work/whmcs" "$work/fossbilling"
cp -R "$here/whmcs/modules" "$work/whmcs/"
add_library "$work/whmcs/modules/registrars/deedhouse/lib"
add_library "$work/whmcs/modules/servers/deedhousehosting/lib"
cp -R "$here/fossbilling/library" "$work/fossbilling/"
add_library "$work/fossbilling/library/Deedhouse"

for panel in whmcs fossbilling; do
  # The same files give the same archive.
  tar -C "$work/$panel" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf - . | gzip -n > "$out/deedhouse-$panel.tar.gz"
  echo "$out/deedhouse-$panel.tar.gz"
done
