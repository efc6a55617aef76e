"""The parts of scripts/hosts."""
