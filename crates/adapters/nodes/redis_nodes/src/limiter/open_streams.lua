-- Changes the open streams of a principal. KEYS[1] is a sorted set of them, by the time in milliseconds
-- at which each is forgotten unless its process reports it again. ARGV: the milliseconds until then, the
-- maximum number of streams or -1, the number of streams to add, these streams, and streams to remove.
-- Returns 1, or 0 if too many are open, and then adds none.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local lifetime, most, added = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
-- Added ones as well: a report may have come first.
for index = 4, #ARGV do
    redis.call('ZREM', KEYS[1], ARGV[index])
end
if most >= 0 and redis.call('ZCARD', KEYS[1]) + added > most then
    return 0
end
for index = 4, 3 + added do
    redis.call('ZADD', KEYS[1], now + lifetime, ARGV[index])
end
if added > 0 then
    redis.call('PEXPIRE', KEYS[1], lifetime)
end
return 1
