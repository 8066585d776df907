mod awaited_turns;
mod fixture;
mod log;
mod once;
mod openings;
mod replays;
mod room;
mod rules;
