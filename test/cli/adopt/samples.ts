import type { ContainerContents, UnitFacts } from "../../../cli/adopt/facts";
import type { HostFacts } from "../../../cli/inventory/host-facts";
import { foreign, recorded } from "../inventory/samples";

/** A unit as one is written by hand: what a server was first started with in a terminal, with backslashes. */
export const UNIT = `# /etc/systemd/system/sglang-qwen.service
[Unit]
Description=Qwen 3.6
After=network-online.target

[Service]
User=root
Environment=SGLANG_ENABLE_SPEC_V2=1 CUDA_DEVICE_ORDER=PCI_BUS_ID
Environment="NCCL_P2P_LEVEL=SYS" HF_TOKEN=hf_secret
ExecStart=/root/ml-env/bin/python3 -m sglang.launch_server \\
  --model-path /models/qwen3.6-27b --served-model-name qwen3.6-27b \\
  --host 0.0.0.0 --port 30000 --tp 2 \\
  --context-length 262144 --mem-fraction-static 0.8 \\
  --reasoning-parser qwen3 --tool-call-parser qwen3_coder \\
  --speculative-algo NEXTN --speculative-num-steps 3 \\
  --speculative-eagle-topk 1 --speculative-num-draft-tokens 4 \\
  --mamba-scheduler-strategy extra_buffer --attention-backend triton \\
  --api-key sk-secret --log-requests
Restart=always

[Install]
WantedBy=multi-user.target
`;

export function unit(changes: Partial<UnitFacts> = {}): UnitFacts {
  return {
    name: "sglang-qwen.service",
    state: "active",
    enabled: "enabled",
    text: UNIT,
    running: [],
    ...changes,
  };
}

/** Container 129 of kpro5 as it was after it had been made to work by hand. */
export function contents(changes: Partial<ContainerContents> = {}): ContainerContents {
  return {
    units: [unit()],
    environments: [
      {
        path: "/root/ml-env",
        python: "3.11",
        packages: [
          "sglang==0.5.11",
          "torch==2.11.0",
          "transformers==5.8.0",
          "pip==25.0",
          "flashinfer_python==0.6.8.post1",
        ],
      },
    ],
    models: [{ path: "/models/qwen3.6-27b", revision: "c".repeat(40) }],
    driverLibraries: "580.105.08",
    ...changes,
  };
}

/** A host with driver and cards, and the container 129 that somebody made. */
export function host(...lines: string[]): HostFacts {
  const configuration = [
    "hostname: ml",
    "cores: 16",
    "memory: 98304",
    "unprivileged: 1",
    "features: nesting=1",
    "onboot: 1",
    "net0: name=eth0,bridge=vmbr0,ip=192.0.2.129/24,gw=192.0.2.1",
    "mp0: /srv/models,mp=/models",
    ...["nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"].map(
      (node, index) => `dev${index}: /dev/${node},mode=0666`,
    ),
    ...lines,
  ];
  return recorded("deployed", { containers: [foreign("129", configuration)] });
}
