//! Tests of the engine through its port.

mod endings;
mod fixture;
mod replies;
mod shared_state;
mod waiting;
