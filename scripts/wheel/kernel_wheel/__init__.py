"""Builds one wheel from pinned sources and patches. Standard library only; runs as a unit in a container."""
