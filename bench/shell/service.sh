# The service; waits until it answers. In the container.
set -e
useradd --system --home-dir /var/lib/sglang-qwen --shell /usr/sbin/nologin sglang
cat >/etc/default/sglang-qwen <<'END'
CUDA_DEVICE_ORDER=PCI_BUS_ID
HF_HUB_OFFLINE=1
HOME=/var/lib/sglang-qwen
LANG=C.UTF-8
PATH=/opt/ml-env/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
PYTHONUNBUFFERED=1
SGLANG_ENABLE_SPEC_V2=1
END
cat >/etc/systemd/system/sglang-qwen.service <<'END'
[Unit]
Description=SGLang: qwen3.6-tiny
Wants=network-online.target
After=network-online.target
RequiresMountsFor=/models

[Service]
Type=exec
User=sglang
StateDirectory=sglang-qwen
WorkingDirectory=/var/lib/sglang-qwen
EnvironmentFile=/etc/default/sglang-qwen
ExecStart=/opt/ml-env/bin/python3 -m sglang.launch_server \
  --model-path /models/qwen3.6-tiny \
  --served-model-name qwen3.6-tiny \
  --host 0.0.0.0 \
  --port 30000 \
  --tp-size 2 \
  --reasoning-parser qwen3 \
  --tool-call-parser qwen3_coder \
  --attention-backend triton \
  --speculative-algorithm NEXTN \
  --speculative-num-steps 3 \
  --speculative-eagle-topk 1 \
  --speculative-num-draft-tokens 4 \
  --mamba-scheduler-strategy extra_buffer \
  --enable-metrics
TimeoutStartSec=300
KillSignal=SIGINT
KillMode=mixed
TimeoutStopSec=20
Restart=on-failure
RestartSec=30

[Install]
WantedBy=multi-user.target
END
systemctl daemon-reload
systemctl enable --now sglang-qwen.service
until curl -fsS http://127.0.0.1:30000/health 2>/dev/null; do sleep 0.5; done
curl -fsS http://127.0.0.1:30000/v1/chat/completions -H 'content-type: application/json' -d '{"model": "qwen3.6-tiny",
  "messages": [{"role": "user", "content": "What is 2 and 2? Answer in one short sentence."}],
  "chat_template_kwargs": {"enable_thinking": false}}' | grep 4
