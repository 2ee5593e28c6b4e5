//! The kinds of the five applications: which fields each has, checked on write.
