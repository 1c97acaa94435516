"""Bandit learning in bounded memory."""
