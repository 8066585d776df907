//! Tests of the engine through its port.

mod calls;
mod fixture;
mod prepare;
mod replies;
mod rule_tests;
mod speed;
