-- Moves an event to the dead letters, once: whoever acknowledges its first entry writes the letter.
-- KEYS: the partition's stream, the dead letters
-- ARGV: group, how many letters are kept, how many entries the event has, its entries..., the letter's fields...
local entries = tonumber(ARGV[3])
local ids, letter = {}, {}
for i = 1, entries do ids[i] = ARGV[3 + i] end
for i = 4 + entries, #ARGV do letter[#letter + 1] = ARGV[i] end
if redis.call('XACK', KEYS[1], ARGV[1], unpack(ids)) == 0 then return false end
return redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[2], '*', unpack(letter))
