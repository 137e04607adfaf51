#!/bin/bash
# The first process of the machine: mounts what a node needs, runs /vm/work, says how it ended, and turns off.
export HOME=/root PATH=/vm/path:/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t cgroup2 -o nsdelegate cgroup2 /sys/fs/cgroup
mount -t devtmpfs dev /dev 2>/dev/null
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t tmpfs -o mode=755 run /run
mount -t tmpfs tmp /tmp
chmod 1777 /tmp
mount --make-rshared /
for module in overlay br_netfilter bridge veth nf_tables nft_chain_nat nft_compat xt_conntrack xt_comment xt_mark \
  xt_MASQUERADE xt_addrtype xt_nat xt_multiport xt_statistic ip_tables iptable_nat iptable_filter virtio_net loop; do
  modprobe "$module" 2>/dev/null || true
done
hostname vm
ip link set lo up
echo '127.0.0.1 localhost vm' > /etc/hosts
# A group with controllers for its children may have no process of its own.
mkdir -p /sys/fs/cgroup/init
echo $$ > /sys/fs/cgroup/init/cgroup.procs
for controller in $(cat /sys/fs/cgroup/cgroup.controllers); do
  echo "+$controller" > /sys/fs/cgroup/cgroup.subtree_control
done
echo "vm: Linux $(uname -r), $(stat -fc %T /sys/fs/cgroup)"
bash /vm/work
echo "vm: ended with $?"
sync
echo o > /proc/sysrq-trigger
sleep 60
