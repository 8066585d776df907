//! F9: a hostile tenant does everything that an ordinary key allows at the default limits, and a
//! well-behaved tenant must not notice.

mod attack;
mod attacker;
mod bodies;
mod flood;
mod neighbour;
mod run;

pub(super) use self::run::run;
