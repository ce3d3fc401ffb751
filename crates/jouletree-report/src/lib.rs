//! Where the joules go, to look at: one page, figures for papers, files for the viewers people have.
//!
//! A [`Study`] is what there is to see in a run, or in several runs of the same program, read from run folders. The page
//! and the figures draw it; exports write one run for another program. Nothing here computes energy.

pub mod export;
