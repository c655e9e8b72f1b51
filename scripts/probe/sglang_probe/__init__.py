"""Health gate, repeated probe, preflight and text judge of an SGLang service. Standard library only, Python 3.10 or newer."""
