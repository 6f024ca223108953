//! The simulator from outside: one program, so that what the tests share is compiled and linked once.

mod by_hand;
mod calls;
mod captures;
mod connections;
mod counts;
mod data_connections;
mod disciplines;
mod downloads;
mod echoes;
mod ends;
mod origin_counts;
mod origins;
mod pages;
mod populations;
mod round_trips;
mod runs;
mod seed_disks;
mod undelivered;
mod unmeasured;
mod upload_control;
mod web_seeds;
mod windows;

#[path = "../common/mod.rs"]
mod common;
