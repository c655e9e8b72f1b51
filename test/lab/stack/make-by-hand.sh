#!/bin/bash
# make-by-hand.sh SUBNET DRIVER COMMIT: what somebody does on a host with a driver, until a model answers: container 129 with
# both cards, the driver's libraries in it, a folder with a model, an environment, and a unit. Runs on the lab's host.
set -euo pipefail
subnet=$1 driver=$2 commit=$3

# The host was prepared by a stack: nothing is left of it but its driver, as if somebody had run the installer.
forget_the_stack() {
  pct stop 129 2>/dev/null || true
  pct destroy 129
  systemctl disable --quiet --now gpu-nodes.service
  mv "/var/cache/proxmox-gpu-stack/NVIDIA-Linux-x86_64-$driver.run" /root/
  rm -rf /etc/systemd/system/gpu-nodes.service /etc/systemd/system/pve-container@*.service.d \
    /etc/proxmox-gpu-stack /usr/local/lib/proxmox-gpu-stack /var/lib/proxmox-gpu-stack /var/cache/proxmox-gpu-stack
  systemctl daemon-reload
}

# As `hf download --local-dir` leaves a folder: the commit is noted beside the files.
make_model() {
  local folder=/srv/models/qwen3.6-tiny
  # A folder out of the lab's saved state lies on a lower layer, where no folder can be renamed.
  cp -r "$folder" "$folder.copy"
  rm -r "$folder"
  mv "$folder.copy" "$folder"
  rm "$folder/.snapshot.json"
  chmod 644 "$folder"/*
  mkdir -p "$folder/.cache/huggingface/download"
  printf '%s\n' "$commit" >"$folder/.cache/huggingface/download/config.json.metadata"
}

make_container() {
  pct create 129 local:vztmpl/debian-12-standard_12.12-1_amd64.tar.zst --hostname ml --cores 2 --memory 4000 \
    --rootfs local-lvm:16 --unprivileged 1 --features nesting=1 --onboot 1 --nameserver "$subnet.1" --tags ml \
    --net0 "name=eth0,bridge=vmbr0,firewall=1,ip=$subnet.129/24,gw=$subnet.1" --description 'Qwen für alle: 100 %'
  pct set 129 --mp0 /srv/models,mp=/models,backup=0 --dev0 /dev/nvidiactl,mode=0666 --dev1 /dev/nvidia-uvm,mode=0666 \
    --dev2 /dev/nvidia-uvm-tools,mode=0666 --dev3 /dev/nvidia1,mode=0666 --dev4 /dev/nvidia0,mode=0666
  pct start 129
  # Its boot empties /tmp, where the installer unpacks itself.
  inside systemctl is-system-running --wait >/dev/null || true
  pct push 129 "/root/NVIDIA-Linux-x86_64-$driver.run" /root/driver.run
  inside sh /root/driver.run --silent --no-questions --ui=none --no-kernel-modules
}

inside() {
  pct exec 129 -- "$@"
}

make_service() {
  inside apt-get -q -y update
  inside apt-get -q -y install --no-install-recommends python3-venv
  inside python3 -m venv /root/ml-env
  # Not the version that the lock has: hand-made environments differ.
  inside /root/ml-env/bin/pip install --quiet sglang==0.5.11 orjson==3.11.0
  inside tee /etc/systemd/system/qwen.service >/dev/null <<'UNIT'
[Unit]
Description=Qwen
After=network-online.target

[Service]
User=root
Environment=CUDA_DEVICE_ORDER=PCI_BUS_ID "NCCL_P2P_LEVEL=SYS"
ExecStart=/root/ml-env/bin/python3 -m sglang.launch_server \
  --model-path /models/qwen3.6-tiny --served-model-name qwen3.6-tiny \
  --host 0.0.0.0 --port 30000 --tp 2 --mem-fraction-static 0.8 \
  --reasoning-parser qwen3 --tool-call-parser qwen3_coder \
  --speculative-algo NEXTN --speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4 \
  --mamba-scheduler-strategy extra_buffer --attention-backend triton --max-running-requests 5
Restart=always

[Install]
WantedBy=multi-user.target
UNIT
  inside systemctl enable --now qwen.service
}

forget_the_stack
make_model
make_container
make_service
