-- Keeps a consumer's membership and its partitions, and takes free ones up to its fair share.
-- KEYS: members (sorted set: consumer -> when its lease ends), leases (hash: partition -> consumer)
-- ARGV: consumer, lease in ms, partitions, the partitions given up now...
-- Gives: fair share, and the partitions that the consumer has now.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local me, count = ARGV[1], tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZADD', KEYS[1], now + ARGV[2], me)
for i = 4, #ARGV do
    if redis.call('HGET', KEYS[2], ARGV[i]) == me then redis.call('HDEL', KEYS[2], ARGV[i]) end
end
local given_up = {}
for i = 4, #ARGV do given_up[ARGV[i]] = true end
local share = math.ceil(count / redis.call('ZCARD', KEYS[1]))
local mine, free = {}, {}
for partition = 0, count - 1 do
    local owner = redis.call('HGET', KEYS[2], partition)
    if owner == me then
        mine[#mine + 1] = partition
    elseif not owner or not redis.call('ZSCORE', KEYS[1], owner) then
        if not given_up[tostring(partition)] then free[#free + 1] = partition end
    end
end
for _, partition in ipairs(free) do
    if #mine >= share then break end
    redis.call('HSET', KEYS[2], partition, me)
    mine[#mine + 1] = partition
end
return {share, unpack(mine)}
