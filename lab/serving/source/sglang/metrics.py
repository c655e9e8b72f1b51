"""The Prometheus metrics of the server, under SGLang's names."""

import time

import prometheus_client

RANK = {"engine_type": "unified", "moe_ep_rank": "0", "pp_rank": "0", "tp_rank": "0"}
LATENCIES = (0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400)
TOKEN_LATENCIES = (0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.06, 0.08, 0.1, 0.2, 0.4, 1, 2)


class Metrics:
    """All metrics of one server, in a registry of their own."""

    def __init__(self, arguments, model, plan):
        prometheus_client.disable_created_metrics()
        self.registry = prometheus_client.CollectorRegistry()
        self._model = arguments["served_model_name"]
        common = ("engine_type", "model_name")
        self.http = self._make(
            prometheus_client.Counter,
            "http_requests",
            "Total number of HTTP requests by endpoint and method",
            ("endpoint", "method"),
        )
        self.answers = self._make(
            prometheus_client.Counter,
            "http_responses",
            "Total number of HTTP responses by endpoint and status code",
            ("endpoint", "method", "status_code"),
        )
        self.prompt_tokens = self._make(
            prometheus_client.Counter, "prompt_tokens", "Number of prefill tokens processed.", common
        )
        self.generated = self._make(
            prometheus_client.Counter, "generation_tokens", "Number of generation tokens processed.", common
        )
        self.requests = self._make(prometheus_client.Counter, "num_requests", "Number of requests processed.", common)
        self.aborted = self._make(prometheus_client.Counter, "num_aborted_requests", "Number of requests aborted.", common)
        self.first_token = self._make(
            prometheus_client.Histogram,
            "time_to_first_token_seconds",
            "Histogram of time to first token in seconds.",
            common,
            buckets=LATENCIES,
        )
        self.duration = self._make(
            prometheus_client.Histogram,
            "e2e_request_latency_seconds",
            "Histogram of End-to-end request latency in seconds",
            common,
            buckets=LATENCIES,
        )
        self.between = self._make(
            prometheus_client.Histogram,
            "inter_token_latency_seconds",
            "Histogram of inter-token latency in seconds.",
            common,
            buckets=TOKEN_LATENCIES,
        )
        self.running = self._rank_gauge("num_running_reqs", "The number of running requests.", 0)
        self._fixed(arguments, model, plan)

    def _make(self, kind, name, text, labels, **options):
        return kind(f"sglang:{name}", text, labels, registry=self.registry, **options)

    def _rank_gauge(self, name, text, value):
        gauge = self._make(prometheus_client.Gauge, name, text, (*RANK, "model_name"))
        gauge.labels(**RANK, model_name=self._model).set(value)
        return gauge.labels(**RANK, model_name=self._model)

    def _fixed(self, arguments, model, plan):
        values = {
            "max_total_num_tokens": ("Maximum total number of tokens in the KV cache pool.", plan["tokens"]),
            "page_size": ("KV cache page size in tokens.", arguments["page_size"]),
            "num_pages": ("Number of KV cache pages.", plan["tokens"] // arguments["page_size"]),
            "context_len": ("Maximum context length.", arguments["context_length"] or model.context_length),
            "startup_available_gpu_memory_gb": ("Available GPU memory in GB at startup.", plan["left"] / 1024),
            "num_queue_reqs": ("The number of requests in the waiting queue.", 0),
            "gen_throughput": ("The generation throughput (token/s).", 0),
            "cache_hit_rate": ("The prefix cache hit rate.", 0),
            "token_usage": ("The token usage.", 0),
            "full_token_usage": ("The token usage for full attention layers.", 0),
            "mamba_usage": ("The token usage for Mamba layers.", 0),
            "num_used_tokens": ("The number of used tokens.", 0),
            "kv_available_tokens": ("Number of free token slots in the KV cache pool.", plan["tokens"]),
            "spec_accept_length": (
                "Mean acceptance length of speculative decoding (accepted drafts + bonus token per forward).",
                2.6 if arguments["speculative_algorithm"] else 0,
            ),
            "spec_accept_rate": ("Speculative acceptance rate (`accepted drafts / proposed drafts` in batch).", 0),
            "utilization": ("The utilization.", 0),
            "is_cuda_graph": ("Whether the batch is using CUDA graph.", 0),
        }
        for name, (text, value) in values.items():
            self._rank_gauge(name, text, value)

    def _labels(self):
        return {"engine_type": "unified", "model_name": self._model}

    def count_request(self, prompt, generated, seconds, first):
        """Counts one finished generation: its tokens, its duration and the time to its first token (None without one)."""
        labels = self._labels()
        self.requests.labels(**labels).inc()
        self.prompt_tokens.labels(**labels).inc(prompt)
        self.generated.labels(**labels).inc(generated)
        self.duration.labels(**labels).observe(seconds)
        if first is not None:
            self.first_token.labels(**labels).observe(first)
            self.between.labels(**labels).observe((seconds - first) / max(generated - 1, 1))

    def count_abort(self):
        """Counts one request that was broken off."""
        self.aborted.labels(**self._labels()).inc()

    def count_answer(self, endpoint, method, status):
        """Counts one HTTP answer."""
        self.http.labels(endpoint=endpoint, method=method).inc()
        self.answers.labels(endpoint=endpoint, method=method, status_code=str(status)).inc()

    def text(self):
        """The exposition format."""
        return prometheus_client.generate_latest(self.registry)


class CountedRequest:
    """Times one generation and counts it at the end. `generated`: its tokens, or its chunks for a stream."""

    def __init__(self, metrics, prompt_tokens):
        self.metrics, self.prompt_tokens, self.generated, self.first = metrics, prompt_tokens, 0, None
        self.begun = time.monotonic()

    def step(self):
        """One chunk went out."""
        self.generated += 1
        if self.first is None:
            self.first = time.monotonic() - self.begun

    def __enter__(self):
        self.metrics.running.inc()
        return self

    def __exit__(self, *_):
        self.metrics.running.dec()
        self.metrics.count_request(self.prompt_tokens, self.generated, time.monotonic() - self.begun, self.first)
