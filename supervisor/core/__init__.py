"""Pure core: no I/O, no clock, no third-party import. Everything else may import it; it imports only itself."""
