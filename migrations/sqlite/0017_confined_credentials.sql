-- The scopes and agents of keys and clients that cannot reach all agents. The build before reads no scopes of
-- them, so it permits them nothing.
alter table credentials add column confined text;
