//! The engine from outside, through its port.

mod given;
mod prepare;
mod replies;
mod speed;
