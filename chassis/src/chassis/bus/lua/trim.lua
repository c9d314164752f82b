-- Removes what every group has finished, and what is older than the limit; never an unread or pending entry.
-- KEYS: the partition's stream; ARGV: the oldest entry id to keep whatever happens
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local function parts(id)
    local dash = string.find(id, '-', 1, true)
    return tonumber(string.sub(id, 1, dash - 1)), tonumber(string.sub(id, dash + 1))
end
local function below(a, b)
    local am, as = parts(a)
    local bm, bs = parts(b)
    return am < bm or (am == bm and as < bs)
end
local groups = redis.call('XINFO', 'GROUPS', KEYS[1])
if #groups == 0 then return 0 end
local limit = ARGV[1]
for _, group in ipairs(groups) do
    local info = {}
    for i = 1, #group, 2 do info[group[i]] = group[i + 1] end
    local first = info['last-delivered-id']
    if info['pending'] > 0 then first = redis.call('XPENDING', KEYS[1], info['name'])[2] end
    if below(first, limit) then limit = first end
end
return redis.call('XTRIM', KEYS[1], 'MINID', limit)
