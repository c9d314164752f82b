-- Gives up a consumer's membership and all of its partitions.
-- KEYS: members, leases; ARGV: consumer
redis.call('ZREM', KEYS[1], ARGV[1])
local leases = redis.call('HGETALL', KEYS[2])
for i = 1, #leases, 2 do
    if leases[i + 1] == ARGV[1] then redis.call('HDEL', KEYS[2], leases[i]) end
end
return 1
