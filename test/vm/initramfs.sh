#!/bin/busybox sh
# Loads what the disk needs, and goes on there.
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox mount -t proc proc /proc
for module in $(/bin/busybox cat /modules/order); do /bin/busybox insmod "/modules/$module"; done
/bin/busybox mount -t ext4 /dev/vda /root || exec /bin/busybox sh
/bin/busybox umount /proc
exec /bin/busybox switch_root /root /vm/init
