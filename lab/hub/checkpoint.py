"""Contents of the hub's checkpoints, made from their names alone: the same bytes on every machine, none of them stored in git.

The configurations follow the shape of the real families (Qwen3.6: hybrid of Gated DeltaNet and full attention with one
multi-token prediction layer), only small. The tensors are valid bfloat16 numbers of no meaning.
"""

import hashlib
import json
import struct
from dataclasses import dataclass

SPECIAL_TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>"]
CHAT_TEMPLATE = (
    "{%- for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}{%- endfor %}"
    "{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n<think>\\n' }}"
    "{%- if enable_thinking is defined and enable_thinking is false %}{{ '\\n</think>\\n\\n' }}{%- endif %}{%- endif %}\n"
)


@dataclass(frozen=True)
class Shape:
    """Sizes of a checkpoint of the Qwen3.6 family. Every fourth layer has full attention."""

    layers: int = 16
    hidden: int = 128
    intermediate: int = 256
    heads: int = 8
    kv_heads: int = 4
    head: int = 32
    linear_key_heads: int = 4
    linear_value_heads: int = 8
    linear_head: int = 16
    convolution: int = 4
    vocabulary: int = 1024


def json_file(value):
    """A JSON file as the hub's repositories hold it: indented, with a final newline."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def bfloat16_numbers(seed, count):
    """`count` bfloat16 numbers between -0.04 and 0.04, the same for the same seed."""
    raw = bytearray(hashlib.shake_256(seed.encode()).digest(2 * count))
    # The upper byte holds sign and exponent: keep the sign, fix the exponent, so that none is infinite or NaN.
    raw[1::2] = bytes(0x3C | (byte & 0x80) for byte in raw[1::2])
    return bytes(raw)


def safetensors(seed, tensors):
    """A safetensors file of bfloat16 tensors: `tensors` maps names to shapes. The header's length is a multiple of 8."""
    header, data, offset = {"__metadata__": {"format": "pt"}}, [], 0
    for name, shape in tensors.items():
        count = 1
        for size in shape:
            count *= size
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [offset, offset + 2 * count]}
        data.append(bfloat16_numbers(f"{seed}/{name}", count))
        offset += 2 * count
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(data)


def layer_types(shape):
    """Three Gated DeltaNet layers, then one with full attention, and so on."""
    return ["full_attention" if (n + 1) % 4 == 0 else "linear_attention" for n in range(shape.layers)]


def attention_tensors(prefix, shape):
    """Full attention with the family's output gate (the query projection is twice as wide)."""
    return {
        f"{prefix}.self_attn.q_proj.weight": (2 * shape.heads * shape.head, shape.hidden),
        f"{prefix}.self_attn.k_proj.weight": (shape.kv_heads * shape.head, shape.hidden),
        f"{prefix}.self_attn.v_proj.weight": (shape.kv_heads * shape.head, shape.hidden),
        f"{prefix}.self_attn.o_proj.weight": (shape.hidden, shape.heads * shape.head),
    }


def linear_attention_tensors(prefix, shape):
    """One Gated DeltaNet layer."""
    keys = shape.linear_key_heads * shape.linear_head
    values = shape.linear_value_heads * shape.linear_head
    return {
        f"{prefix}.linear_attn.in_proj_qkv.weight": (2 * keys + values, shape.hidden),
        f"{prefix}.linear_attn.in_proj_z.weight": (values, shape.hidden),
        f"{prefix}.linear_attn.in_proj_b.weight": (shape.linear_value_heads, shape.hidden),
        f"{prefix}.linear_attn.in_proj_a.weight": (shape.linear_value_heads, shape.hidden),
        f"{prefix}.linear_attn.conv1d.weight": (2 * keys + values, 1, shape.convolution),
        f"{prefix}.linear_attn.A_log": (shape.linear_value_heads,),
        f"{prefix}.linear_attn.dt_bias": (shape.linear_value_heads,),
        f"{prefix}.linear_attn.out_proj.weight": (shape.hidden, values),
    }


def feed_forward_tensors(prefix, shape):
    """Gate, up and down projection and the two norms of a layer."""
    return {
        f"{prefix}.mlp.gate_proj.weight": (shape.intermediate, shape.hidden),
        f"{prefix}.mlp.up_proj.weight": (shape.intermediate, shape.hidden),
        f"{prefix}.mlp.down_proj.weight": (shape.hidden, shape.intermediate),
        f"{prefix}.input_layernorm.weight": (shape.hidden,),
        f"{prefix}.post_attention_layernorm.weight": (shape.hidden,),
    }


def qwen_tensors(shape):
    """The tensors of a Qwen3.6 checkpoint in two shards, as [{name: shape}, {name: shape}]."""
    shards = [{"model.language_model.embed_tokens.weight": (shape.vocabulary, shape.hidden)}, {}]
    for number, kind in enumerate(layer_types(shape)):
        prefix = f"model.language_model.layers.{number}"
        mixer = attention_tensors if kind == "full_attention" else linear_attention_tensors
        shard = shards[0] if number < shape.layers // 2 else shards[1]
        shard.update(mixer(prefix, shape))
        shard.update(feed_forward_tensors(prefix, shape))
    shards[1].update(attention_tensors("mtp.layers.0", shape))
    shards[1].update(feed_forward_tensors("mtp.layers.0", shape))
    shards[1]["mtp.fc.weight"] = (shape.hidden, 2 * shape.hidden)
    shards[1]["model.language_model.norm.weight"] = (shape.hidden,)
    shards[1]["lm_head.weight"] = (shape.vocabulary, shape.hidden)
    return shards


def qwen_config(shape):
    """config.json of the Qwen3.6 family."""
    return {
        "architectures": ["Qwen3_5ForConditionalGeneration"],
        "model_type": "qwen3_5",
        "tie_word_embeddings": False,
        "transformers_version": "5.6.0",
        "text_config": {
            "model_type": "qwen3_5_text",
            "attn_output_gate": True,
            "dtype": "bfloat16",
            "eos_token_id": 0,
            "full_attention_interval": 4,
            "head_dim": shape.head,
            "hidden_act": "silu",
            "hidden_size": shape.hidden,
            "intermediate_size": shape.intermediate,
            "layer_types": layer_types(shape),
            "linear_conv_kernel_dim": shape.convolution,
            "linear_key_head_dim": shape.linear_head,
            "linear_num_key_heads": shape.linear_key_heads,
            "linear_num_value_heads": shape.linear_value_heads,
            "linear_value_head_dim": shape.linear_head,
            "mamba_ssm_dtype": "float32",
            "max_position_embeddings": 262144,
            "mtp_num_hidden_layers": 1,
            "num_attention_heads": shape.heads,
            "num_hidden_layers": shape.layers,
            "num_key_value_heads": shape.kv_heads,
            "rms_norm_eps": 1e-06,
            "vocab_size": shape.vocabulary,
        },
        "vision_config": {"model_type": "qwen3_5", "depth": 2, "hidden_size": 64, "num_heads": 4, "patch_size": 16},
        "image_token_id": 1020,
        "video_token_id": 1021,
    }


def tokenizer_files(vocabulary):
    """A byte-level tokenizer: 256 bytes, the family's special tokens, the rest of the vocabulary unused."""
    # GPT-2's printable stand-ins for bytes: printable ones stand for themselves, the others are shifted by 256.
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    alphabet = [chr(byte) for byte in printable] + [chr(256 + n) for n in range(256 - len(printable))]
    added = [
        {
            "id": number,
            "content": token,
            "special": True,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
        }
        for number, token in enumerate(SPECIAL_TOKENS)
    ]
    words = {token: number for number, token in enumerate([*SPECIAL_TOKENS, *alphabet])}
    for number in range(len(words), vocabulary):
        words[f"<unused{number}>"] = number
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": byte_level,
        "model": {"type": "BPE", "vocab": words, "merges": []},
    }
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "model_max_length": 262144,
    }
    return {
        "tokenizer.json": json_file(tokenizer),
        "tokenizer_config.json": json_file(settings),
        "chat_template.jinja": CHAT_TEMPLATE.encode(),
    }


def qwen_files(name, temperature):
    """All files of a small Qwen3.6 checkpoint. `temperature` is its generation default: what distinguishes two revisions."""
    shape = Shape()
    files = {"config.json": json_file(qwen_config(shape)), **tokenizer_files(shape.vocabulary)}
    files["generation_config.json"] = json_file(
        {"do_sample": True, "eos_token_id": [2, 0], "pad_token_id": 0, "temperature": temperature, "top_k": 20, "top_p": 0.95}
    )
    weight_map, total = {}, 0
    shards = qwen_tensors(shape)
    for number, tensors in enumerate(shards, 1):
        path = f"model-{number:05d}-of-{len(shards):05d}.safetensors"
        files[path] = safetensors(name, tensors)
        weight_map.update(dict.fromkeys(tensors, path))
        total += len(files[path]) - 8 - struct.unpack("<Q", files[path][:8])[0]
    files["model.safetensors.index.json"] = json_file({"metadata": {"total_size": total}, "weight_map": weight_map})
    files["README.md"] = f"# {name}\n\nA small checkpoint of the proxmox-gpu-stack lab. Its weights mean nothing.\n".encode()
    files["assets/shape.txt"] = f"{shape.layers} layers, hidden size {shape.hidden}\n".encode()
    return files


def draft_files(name):
    """All files of a small EAGLE-3 draft model (one Llama layer), for services with a separate draft."""
    shape = Shape()
    config = {
        "architectures": ["LlamaForCausalLMEagle3"],
        "model_type": "llama",
        "dtype": "bfloat16",
        "draft_vocab_size": 512,
        "head_dim": shape.head,
        "hidden_size": shape.hidden,
        "intermediate_size": shape.intermediate,
        "max_position_embeddings": 262144,
        "num_attention_heads": shape.heads,
        "num_hidden_layers": 1,
        "num_key_value_heads": shape.kv_heads,
        "rms_norm_eps": 1e-06,
        "vocab_size": shape.vocabulary,
    }
    tensors = {"fc.weight": (shape.hidden, 3 * shape.hidden), "lm_head.weight": (512, shape.hidden)}
    tensors.update(attention_tensors("midlayer", shape))
    tensors.update(feed_forward_tensors("midlayer", shape))
    return {
        "config.json": json_file(config),
        "model.safetensors": safetensors(name, tensors),
        "README.md": f"# {name}\n\nA small EAGLE-3 draft model of the proxmox-gpu-stack lab.\n".encode(),
    }
