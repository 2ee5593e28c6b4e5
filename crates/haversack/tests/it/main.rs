//! The engine on real stores: what each requirement asks of it, by its id.

mod everywhere;
mod memory;
mod prime;
mod proposal;
mod situation;
mod support;
mod workspace;
