mod awaited_turns;
mod log;
mod once;
mod openings;
mod replays;
mod room;
mod rules;
mod world;
