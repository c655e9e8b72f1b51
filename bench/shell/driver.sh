# NVIDIA's driver by its installer, and its device nodes at every boot. On the host.
set -e
curl -fsS -o /root/driver.run "http://$1.1:8080/nvidia/NVIDIA-Linux-x86_64-580.105.08.run"
sh /root/driver.run --silent --no-questions --ui=none --dkms --kernel-module-type=open --allow-installation-with-running-driver
cat >/etc/systemd/system/gpu-nodes.service <<'END'
[Unit]
Description=NVIDIA device nodes, before containers start
Before=pve-guests.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/sbin/modprobe nvidia
ExecStart=/usr/bin/nvidia-smi
ExecStart=/usr/bin/nvidia-modprobe -c 255
ExecStart=/usr/bin/nvidia-modprobe -u -c 0
ExecStart=/usr/bin/nvidia-modprobe -c 1

[Install]
WantedBy=multi-user.target
END
systemctl daemon-reload
systemctl enable --now gpu-nodes.service
nvidia-smi
