#!/bin/sh
# dpkg says "remove", "purge" or something of an upgrade, rpm how many stay. The
# crash records in /var/log/nodekeeper are the admin's.
set -u
case ${1:-} in
remove | purge | 0) ;;
*) exit 0 ;;
esac
[ ! -d /run/systemd/system ] || systemctl daemon-reload
case ${1:-} in
purge | 0) rm -rf /var/lib/nodekeeper ;;
esac
exit 0
