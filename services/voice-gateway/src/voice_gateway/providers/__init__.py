"""Providers that hold the calls themselves: the gateway only lets people in."""
