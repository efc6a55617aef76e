"""The steps of scripts/gpu-check."""
