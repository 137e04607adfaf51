#!/bin/bash
# machine.sh DISK NAME BOOT COMMAND...: runs a command on a machine of its own, with its own network, mounts, processes
# and (v1) cgroups, and its own /var/lib and /run, which are kept in DISK. It reaches no other network. When the command
# ends, the machine is off.
set -e
disk=$1 name=$2 boot=$3
shift 3
mkdir -p "$disk/lib" "$disk/run" "$disk/local"
for hierarchy in $(awk '$(NF-2) == "cgroup" { print $5 }' /proc/self/mountinfo); do
  mkdir -p "$hierarchy/$name"
  for file in cpuset.cpus cpuset.mems; do
    if [ -e "$hierarchy/$name/$file" ]; then cat "$hierarchy/$file" > "$hierarchy/$name/$file"; fi
  done
  echo $$ > "$hierarchy/$name/cgroup.procs"
done
export disk boot
exec unshare --net --mount --pid --fork --kill-child --ipc --cgroup --mount-proc bash -c '
  set -e
  hierarchies=$(awk "\$(NF-2) == \"cgroup\" { print \$NF }" /proc/self/mountinfo | sed "s/^rw,//" | sort -u)
  mount --make-rprivate /
  # What is mounted below /run and /var/lib belongs to the machine outside.
  for point in $(awk "{ print \$5 }" /proc/self/mountinfo | grep -E "^/(run|var/lib)/" | tac); do
    umount --lazy "$point" 2> /dev/null || true
  done
  ip link set lo up
  ip link add eth0 type bridge
  ip address add 192.0.2.9/24 dev eth0
  ip link set eth0 up
  umount --recursive --lazy /sys
  mount -t sysfs none /sys
  mount -t tmpfs none /sys/fs/cgroup
  for options in $hierarchies; do
    mkdir "/sys/fs/cgroup/$options"
    case $options in
      name=*) mount -t cgroup -o "none,$options" none "/sys/fs/cgroup/$options" ;;
      *) mount -t cgroup -o "$options" none "/sys/fs/cgroup/$options" ;;
    esac
  done
  mount --bind "$disk/run" /run
  mkdir -p /run/lock
  mount --bind "$disk/lib" /var/lib
  echo "$boot" > "$disk/boot"
  mount --bind "$disk/boot" /proc/sys/kernel/random/boot_id
  mkdir -p "$LOCAL"
  mount --bind "$disk/local" "$LOCAL"
  exec "$@"
' machine "$@"
