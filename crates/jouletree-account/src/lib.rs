//! Aligns traces with power: attribution, footprints, energy trees, summaries.
