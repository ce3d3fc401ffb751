//! Power files and the run folder.
