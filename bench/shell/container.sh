# The container with its cards and the driver's libraries. On the host.
set -e
cd /root
template=debian-12-standard_12.12-1_amd64.tar.zst
curl -fsS -o "/var/lib/vz/template/cache/$template" "http://$1.1:8080/template/$template"
pct create 129 "local:vztmpl/$template" --hostname ml --ostype debian --unprivileged 1 --features nesting=1 \
  --cores 2 --memory 4096 --swap 0 --rootfs local-lvm:16 --nameserver "$1.1" --onboot 1 --tags "gpu;ml" \
  --net0 "name=eth0,bridge=vmbr0,gw=$1.1,ip=$1.129/24,type=veth" --mp0 /srv/models,mp=/models,ro=1 \
  --dev0 /dev/nvidia0,mode=0666 --dev1 /dev/nvidia1,mode=0666 --dev2 /dev/nvidiactl,mode=0666 \
  --dev3 /dev/nvidia-uvm,mode=0666 --dev4 /dev/nvidia-uvm-tools,mode=0666
pct start 129
until pct exec 129 -- systemctl is-system-running 2>/dev/null | grep -E 'running|degraded'; do sleep 0.5; done
pct push 129 /root/driver.run /root/driver.run
pct exec 129 -- sh /root/driver.run --silent --no-questions --ui=none --no-kernel-modules
pct exec 129 -- rm /root/driver.run
pct exec 129 -- nvidia-smi
for file in environment.sh service.sh uv.lock.txt; do pct push 129 "$file" "/root/$file"; done
pct push 129 lab-sglang-0.5.11/requirements.lock /root/requirements.lock
