//! Tests of the engine through its port.

mod fixture;
mod prepare;
mod replies;
mod rule_tests;
mod speed;
