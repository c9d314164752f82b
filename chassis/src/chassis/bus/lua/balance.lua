-- Keeps a consumer's membership and its partitions, and takes free ones up to its fair share.
-- KEYS: members (sorted set: consumer -> when its lease ends, ms), leases (hash: partition -> consumer)
-- ARGV: consumer, lease in ms, partitions, the partitions given up now...
-- Gives: fair share, how many partitions are newly taken, and the partitions that it has now (the new ones last).
--
-- A lease that has ended is excused, once until its owner beats again, where the one who looks was late itself or is new:
-- what stood still was perhaps the machine, the server or a process that both live in, and the owner is not dead.
-- An excused lease ends at half a millisecond past a whole one; that is how it is known.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local me, lease, count = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local ends = tonumber(redis.call('ZSCORE', KEYS[1], me) or '0')
local awake = ends > now + lease / 2
local expired = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'WITHSCORES')
for i = 1, #expired, 2 do
    local ended = tonumber(expired[i + 1])
    if awake or ended % 1 ~= 0 or ended < now - lease and ends == 0 then
        redis.call('ZREM', KEYS[1], expired[i])
    else
        redis.call('ZADD', KEYS[1], now + lease + 0.5, expired[i])
    end
end
redis.call('ZADD', KEYS[1], now + lease, me)
local given_up = {}
for i = 4, #ARGV do
    if redis.call('HGET', KEYS[2], ARGV[i]) == me then redis.call('HDEL', KEYS[2], ARGV[i]) end
    given_up[ARGV[i]] = true
end
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
local kept = #mine
for _, partition in ipairs(free) do
    if #mine >= share then break end
    redis.call('HSET', KEYS[2], partition, me)
    mine[#mine + 1] = partition
end
return {share, #mine - kept, unpack(mine)}
