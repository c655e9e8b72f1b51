"""The model directory: what its files say, and the errors that the real loaders give for broken ones."""

import json
import os
import struct
from dataclasses import dataclass
from pathlib import Path

from sglang.failures import ImitatedError

GDN_KEYS = (
    "linear_num_key_heads",
    "linear_num_value_heads",
    "linear_key_head_dim",
    "linear_value_head_dim",
    "linear_conv_kernel_dim",
)


@dataclass(frozen=True)
class Model:
    """The facts of a checkpoint that SGLang's start depends on."""

    path: str
    architecture: str
    model_type: str
    text: dict
    generation: dict
    quantization: dict

    @property
    def layer_types(self):
        """The kind of every layer."""
        layers = self.text.get("num_hidden_layers", 0)
        if "layer_types" in self.text:
            return self.text["layer_types"]
        interval = self.text.get("full_attention_interval")
        if interval and all(key in self.text for key in GDN_KEYS):
            return ["full_attention" if (n + 1) % interval == 0 else "linear_attention" for n in range(layers)]
        return ["full_attention"] * layers

    @property
    def is_hybrid(self):
        """Whether it mixes full attention with Gated DeltaNet layers."""
        return "linear_attention" in self.layer_types

    @property
    def is_mla(self):
        """Whether it uses multi-head latent attention (Kimi, DeepSeek)."""
        return "kv_lora_rank" in self.text

    @property
    def context_length(self):
        """The longest context the checkpoint is made for, in tokens."""
        return self.text.get("max_position_embeddings", 2048)

    @property
    def is_fp4(self):
        """Whether the weights are NVFP4."""
        return "FP4" in str(self.quantization.get("quant_algo", "")).upper()


def read_json(path):
    """A JSON file of the model directory, or {} where it is absent."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return {}


def read(path):
    """Reads a model directory. Raises ImitatedError with the text of the real loaders where it is none."""
    if not os.path.isdir(path):
        if path.startswith(("/", ".")) or path.count("/") > 1:
            raise ImitatedError(
                "huggingface_hub.errors.HFValidationError: Repo id must be in the form 'repo_name' or 'namespace/repo_name': "
                f"'{path}'. Use `repo_type` argument if needed."
            )
        raise ImitatedError(
            f"OSError: {path} is not a local folder and is not a valid model identifier: the stand-in downloads nothing."
        )
    config = read_json(f"{path}/config.json")
    if "model_type" not in config:
        raise ImitatedError(f"ValueError: Unrecognized model in {path}. Should have a `model_type` key in its config.json.")
    text = config.get("text_config", config)
    quantization = config.get("quantization_config") or read_json(f"{path}/hf_quant_config.json").get("quantization", {})
    architecture = config.get("architectures", ["Unknown"])[0]
    return Model(path, architecture, config["model_type"], text, read_json(f"{path}/generation_config.json"), quantization)


def shards(path):
    """The safetensors files of a model directory, sorted by name."""
    return sorted(Path(path).glob("*.safetensors"))


def missing_shards(path):
    """Shards that the index names and that are not there. The real loader does not notice: those weights stay random."""
    index = read_json(f"{path}/model.safetensors.index.json")
    present = {shard.name for shard in shards(path)}
    return sorted(set(index.get("weight_map", {}).values()) - present)


def check_shard(shard):
    """Checks one file's header against its size. Raises ImitatedError with safetensors' own texts."""
    name = "safetensors_rust.SafetensorError: Error while deserializing header: "
    size = shard.stat().st_size
    with shard.open("rb") as file:
        start = file.read(8)
        if len(start) < 8:
            raise ImitatedError(name + "header too small")
        length = struct.unpack("<Q", start)[0]
        if length > size - 8:
            raise ImitatedError(name + ("header too large" if length > 100_000_000 else "invalid header length"))
        try:
            header = json.loads(file.read(length))
        except ValueError as error:
            raise ImitatedError(name + f"invalid JSON in header: {error}") from error
    ends = [entry["data_offsets"][1] for key, entry in header.items() if key != "__metadata__"]
    if max(ends, default=0) != size - 8 - length:
        raise ImitatedError(name + "incomplete metadata, file not fully covered")


def load_weights(path):
    """Checks every shard and returns the bytes of weights. Raises ImitatedError where there are none or one is broken."""
    found = shards(path)
    if not found:
        raise ImitatedError(f"RuntimeError: Cannot find any model weights with `{path}`")
    for shard in found:
        check_shard(shard)
    return sum(shard.stat().st_size for shard in found)
