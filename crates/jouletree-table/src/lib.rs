//! Tables for terminals and Markdown: columns that fit the width, bars, and colours by the kind of a number. Nothing here
//! knows what the numbers are about.

pub mod cell;
pub mod colour;
pub mod columns;
pub mod markdown;
pub mod page;
pub mod paragraph;
