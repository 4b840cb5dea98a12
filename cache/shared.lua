-- The index of the cache, as the replicas share it: who keeps what, and what became of the
-- rest. One call is one step that all replicas see done or not done. What it works on at a
-- time is bounded; a reply of 'again' has the caller call again.
--
-- All keys begin with KEYS[1]. Times are microseconds, sizes bytes.
--
--   e:AGENT:ID  K SIZE SEQ GENERATION PARTS DATA RAW TERMS ORIGIN  of an entry that is kept
--               G REASON TIME ORIGIN                               of one that is gone
--   i:AGENT     of an agent that keeps something: bytes, seq (order of creation), name
--   a:AGENT     ID:SIZE:SEQ of what it keeps, by last read
--   agents      AGENT of all that keep something, by last use
--   read        AGENT:ID:SIZE:SEQ of all that is kept, by last read
--   c:CLASS     the same of one class of sizes, of which there are eight between n and 2n
--   classes     CLASS of those with an entry, by the largest size since it was empty
--   kept        AGENT:ID:SIZE:SEQ by when it came last
--   g:AGENT     ID of what is gone, in order
--   gone        AGENT:ID of the same, of all agents
--   state       bytes of all, seq (of the newest entry or agent), went (the number of tombstones made)
local call = redis.call
local op, now, ttl, life, note = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])
local terms, graves, allGraves, goneAge, step = ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
if not now then
	local t = call('TIME')
	now = t[1] * 1000000 + t[2]
end

local function key(...) return KEYS[1] .. ':' .. table.concat({...}, ':') end
local state, agents, reads, kepts, classes, graveyard = key('state'), key('agents'), key('read'), key('kept'), key('classes'), key('gone')

-- number writes a whole number: Lua would write a large one with an exponent.
local function number(n) return string.format('%.0f', n) end

-- stay has keys outlast what they are about. Where nobody uses the fleet any more they go.
local function stay(...)
	for _, k in ipairs({...}) do call('PEXPIRE', k, life) end
end

-- kept reads what a key e has, or returns nil if that is not kept.
local function kept(text)
	local size, seq, gen, parts, data, raw, on, at = string.match(text or '', '^K (%d+) (%d+) (%S+) (%d+) (%d+) (%d+) (%S+) ()')
	return size and {size = size, seq = seq, gen = gen, parts = parts, data = data, raw = raw, terms = on, origin = string.sub(text, at)}
end

-- gone reads what a key e has, or returns nil if that is not gone.
local function gone(text)
	local reason, time, at = string.match(text or '', '^G (%a+) (%d+) ()')
	return reason and {reason = reason, time = tonumber(time), origin = string.sub(text, at)}
end

local function classOf(size)
	local m, e = math.frexp(size + 1)
	return (e - 1) * 8 + math.floor((2 * m - 1) * 8)
end

local function idle(read) return math.max(now - read, 0) + 1 end

-- exhume forgets that an entry is gone.
local function exhume(agent, id)
	call('ZREM', key('g', agent), id)
	call('ZREM', graveyard, agent .. ':' .. id)
end

-- lose drops the oldest of what is gone, of an agent.
local function lose(agent, id)
	exhume(agent, id)
	if string.sub(call('GET', key('e', agent, id)) or '', 1, 1) == 'G' then call('DEL', key('e', agent, id)) end
end

-- bury remembers an entry that is gone, the newest.
local function bury(agent, id, reason, origin)
	local own, n = key('g', agent), call('HINCRBY', state, 'went', 1)
	call('SET', key('e', agent, id), 'G ' .. reason .. ' ' .. number(now) .. ' ' .. origin, 'PX', life)
	call('ZADD', own, n, id)
	call('ZADD', graveyard, n, agent .. ':' .. id)
	for _ = 1, 2 do
		if call('ZCARD', own) > graves then lose(agent, call('ZRANGE', own, 0, 0)[1]) end
		if call('ZCARD', graveyard) > allGraves then lose(string.match(call('ZRANGE', graveyard, 0, 0)[1], '^(.*):(.*)$')) end
	end
	stay(own, graveyard, state)
end

local removed = {} -- REASON AGENT ID SIZE GENERATION PARTS, for the caller

-- remove takes an entry out. Without a reason nothing is remembered of it.
local function remove(agent, id, size, seq, reason)
	local e, own, info, class = key('e', agent, id), key('a', agent), key('i', agent), classOf(tonumber(size))
	local short = id .. ':' .. size .. ':' .. seq
	local long = agent .. ':' .. short
	if call('ZREM', own, short) == 1 then call('HINCRBY', info, 'bytes', -size) end
	if call('ZREM', reads, long) == 1 then call('HINCRBY', state, 'bytes', -size) end
	call('ZREM', kepts, long)
	call('ZREM', key('c', class), long)
	if call('EXISTS', key('c', class)) == 0 then call('ZREM', classes, class) end
	if call('EXISTS', own) == 0 then
		call('ZREM', agents, agent)
		call('DEL', info)
	end
	local was = kept(call('GET', e))
	if not was or was.seq ~= seq then return end -- the server has dropped it by itself
	if reason then bury(agent, id, reason, was.origin) else call('DEL', e) end
	removed[#removed + 1] = table.concat({reason or '-', agent, id, size, was.gen, was.parts}, ' ')
end

local function removeLong(long, reason)
	local agent, id, size, seq = string.match(long, '^(.*):(.*):(.*):(.*)$')
	remove(agent, id, size, seq, reason)
end

-- live returns an entry that has not expired. What has is removed.
local function live(agent, id)
	local r = kept(call('GET', key('e', agent, id)))
	if not r then return nil end
	local short = id .. ':' .. r.size .. ':' .. r.seq
	r.read = tonumber(call('ZSCORE', key('a', agent), short))
	if not r.read or now - r.read >= ttl or r.terms ~= terms then
		remove(agent, id, r.size, r.seq, r.read and 'expired' or 'evicted')
		return nil
	end
	return r
end

-- touch notes a read, and returns 1 if the parts are to stay longer too.
local function touch(agent, id, r, at)
	local short = id .. ':' .. r.size .. ':' .. r.seq
	local long, class = agent .. ':' .. short, key('c', classOf(tonumber(r.size)))
	local text = number(at)
	call('ZADD', key('a', agent), text, short)
	call('ZADD', reads, text, long)
	call('ZADD', class, text, long)
	if at > tonumber(call('ZSCORE', agents, agent) or 0) then call('ZADD', agents, text, agent) end
	if call('PTTL', key('e', agent, id)) > life - note then return 0 end
	stay(key('e', agent, id), key('a', agent), key('i', agent), class, state, agents, reads, kepts, classes)
	return 1
end

-- answer says what there is for an id that is not kept.
local function answer(agent, id)
	local was = gone(call('GET', key('e', agent, id)))
	if was then return {'gone', removed, was.reason, was.origin} end
	return {'none', removed}
end

-- expire removes what has expired, and what is gone for long. It returns whether there may be more.
local function expire()
	local old = call('ZRANGEBYSCORE', reads, '-inf', number(now - ttl), 'LIMIT', 0, step)
	for _, long in ipairs(old) do removeLong(long, 'expired') end
	if #old == step then return true end
	local buried = call('ZRANGE', graveyard, 0, step - 1)
	for _, name in ipairs(buried) do
		local agent, id = string.match(name, '^(.*):(.*)$')
		local was = gone(call('GET', key('e', agent, id)))
		if was and now - was.time < goneAge then return false end
		lose(agent, id)
	end
	return #buried == step
end

-- sooner reports whether an entry is to go before another: that with the larger product of
-- idle time and size, among equals the older.
local function sooner(a, b) return a.weight > b.weight or a.weight == b.weight and a.order < b.order end

-- worst returns the n of all that are to go first, in order. A class is walked from the one
-- that is idle the longest, as long as one of its size could be worse than the last of them.
local function worst(n)
	local first = call('ZRANGE', reads, 0, 0, 'WITHSCORES')
	if not first[1] then return {} end
	local longest, list = idle(first[2]), {}
	local function least() return list[n] and list[n].weight or -1 end
	local all = call('ZREVRANGE', classes, 0, -1, 'WITHSCORES')
	for c = 1, #all, 2 do
		local bound, name, from, many = all[c + 1] + 1, key('c', all[c]), 0, 8
		if longest * bound < least() then break end
		while from do
			local some = call('ZRANGE', name, from, from + many - 1, 'WITHSCORES')
			from = #some == 2 * many and from + many or nil
			many = 100
			for i = 1, #some, 2 do
				local length = idle(some[i + 1])
				if length * bound < least() then
					from = nil
					break
				end
				local size, seq = string.match(some[i], ':(%d+):(%d+)$')
				local one, at = {long = some[i], order = tonumber(seq), weight = length * (size + 1)}, #list + 1
				while at > 1 and sooner(one, list[at - 1]) do at = at - 1 end
				if at <= n then
					table.insert(list, at, one)
					list[n + 1] = nil
				end
			end
		end
	end
	if not list[1] then list[1] = {long = first[1]} end
	return list
end

-- worstFirst returns what an agent keeps, that first which is to go first.
local function worstFirst(agent)
	local some, list = call('ZRANGE', key('a', agent), 0, -1, 'WITHSCORES'), {}
	for i = 1, #some, 2 do
		local id, size, seq = string.match(some[i], '^(.*):(.*):(.*)$')
		list[#list + 1] = {id = id, size = size, seq = seq, order = tonumber(seq), weight = idle(some[i + 1]) * (size + 1)}
	end
	table.sort(list, sooner)
	return list
end

-- makeRoom evicts until an entry fits. It returns false when it has done enough for one call.
local function makeRoom(agent, size, maxEntries, maxOwn, maxAll, maxAgents)
	local own, info = key('a', agent), key('i', agent)
	local function fitsQuota()
		local n = call('ZCARD', own)
		return n == 0 or n < maxEntries and tonumber(call('HGET', info, 'bytes') or 0) + size <= maxOwn
	end
	local function fitsAll() return tonumber(call('HGET', state, 'bytes') or 0) + size <= maxAll end
	local function fitsAgents() return call('EXISTS', own) == 1 or call('ZCARD', agents) < maxAgents end
	if fitsQuota() and fitsAll() and fitsAgents() then return true end
	if expire() then return false end
	if not fitsQuota() then
		for _, r in ipairs(worstFirst(agent)) do
			if fitsQuota() then break end
			if #removed >= step then return false end
			remove(agent, r.id, r.size, r.seq, 'evicted')
		end
	end
	-- To look for many at once costs little more than for one.
	local many = 1
	while not fitsAll() do
		local some = worst(many)
		if not some[1] then call('HDEL', state, 'bytes') end
		for _, r in ipairs(some) do
			if fitsAll() then break end
			if #removed >= step then return false end
			removeLong(r.long, 'evicted')
		end
		many = math.min(4 * many, step)
	end
	-- Last, because the steps above may have taken the last entry of an agent, this one's too.
	while not fitsAgents() do
		local lowest = call('ZRANGE', agents, 0, 0, 'WITHSCORES')[2]
		local idlest, oldest
		for _, one in ipairs(call('ZRANGEBYSCORE', agents, lowest, lowest, 'LIMIT', 0, 1000)) do
			local seq = tonumber(call('HGET', key('i', one), 'seq') or 0)
			if not idlest or seq < oldest then idlest, oldest = one, seq end
		end
		local all = call('ZRANGE', key('a', idlest), 0, -1)
		if #all == 0 then call('ZREM', agents, idlest) end
		for _, short in ipairs(all) do
			if #removed >= step then return false end
			local id, bytes, seq = string.match(short, '^(.*):(.*):(.*)$')
			remove(idlest, id, bytes, seq, 'evicted')
		end
	end
	return true
end

-- tidy leaves nothing where nothing is kept, or gone.
local function tidy()
	if call('EXISTS', reads, graveyard) == 0 then call('DEL', state) end
end

local ops = {}

-- get says what there is for an id. read is '1' if it counts as a read.
function ops.get(agent, id, read)
	local r = live(agent, id)
	if not r then return answer(agent, id) end
	local stays = read == '1' and touch(agent, id, r, now) or 0
	return {'kept', removed, r.gen, r.parts, r.raw, stays, r.origin}
end

-- put keeps an entry whose parts are there, unless it is kept already: generation is '' to ask
-- only, and '-' for one of a call on other terms, which is gone as it comes.
function ops.put(agent, id, name, gen, parts, size, data, raw, origin, since, maxEntries, maxOwn, maxAll, maxAgents)
	local e, own, info = key('e', agent, id), key('a', agent), key('i', agent)
	local read = now - since
	local r = live(agent, id)
	if not r then
		if gen == '' then return {'none', removed} end
		if gen == '-' then
			bury(agent, id, 'expired', origin)
			return {'gone', removed}
		end
		if not makeRoom(agent, tonumber(size), tonumber(maxEntries), tonumber(maxOwn), tonumber(maxAll), tonumber(maxAgents)) then return {'again', removed} end
		exhume(agent, id)
		if call('EXISTS', own) == 0 then call('HSET', info, 'bytes', 0, 'seq', call('HINCRBY', state, 'seq', 1)) end
		r = {size = size, seq = number(call('HINCRBY', state, 'seq', 1)), gen = gen, parts = parts, raw = raw, origin = origin, read = read}
		call('HINCRBY', info, 'bytes', size)
		call('HINCRBY', state, 'bytes', size)
		local class = classOf(tonumber(size))
		if tonumber(size) > tonumber(call('ZSCORE', classes, class) or -1) then call('ZADD', classes, size, class) end
		call('SET', e, table.concat({'K', size, r.seq, gen, parts, data, raw, terms, origin}, ' '))
	end
	local stays = touch(agent, id, r, math.max(read, r.read))
	if read >= r.read then call('ZADD', kepts, number(read), agent .. ':' .. id .. ':' .. r.size .. ':' .. r.seq) end
	call('HSET', info, 'name', name)
	stay(kepts, info)
	return {'kept', removed, r.gen, r.parts, r.raw, stays, r.origin}
end

-- lost has an entry gone whose parts are not there, unless it has come again since.
function ops.lost(agent, id, gen)
	local r = live(agent, id)
	if r and r.gen ~= gen then return {'kept', removed} end
	if r then remove(agent, id, r.size, r.seq, 'evicted') end
	return answer(agent, id)
end

-- forget drops all that is known of an agent.
function ops.forget(agent)
	for _, short in ipairs(call('ZRANGE', key('a', agent), 0, step - 1)) do
		local id, size, seq = string.match(short, '^(.*):(.*):(.*)$')
		remove(agent, id, size, seq)
	end
	for _, id in ipairs(call('ZRANGE', key('g', agent), 0, step - 1)) do lose(agent, id) end
	tidy()
	return {call('EXISTS', key('a', agent), key('g', agent)) > 0 and 'again' or 'done', removed}
end

function ops.sweep()
	local more = expire()
	tidy()
	return {more and 'again' or 'done', removed}
end

-- list returns some of what is kept, of those behind skip that came last, and how much there is.
function ops.list(skip, many)
	local rows, some = {}, call('ZREVRANGE', kepts, skip, skip + many - 1, 'WITHSCORES')
	for i = 1, #some, 2 do
		local agent, id, size, seq = string.match(some[i], '^(.*):(.*):(.*):(.*)$')
		local r, read = kept(call('GET', key('e', agent, id))), call('ZSCORE', reads, some[i])
		if r and r.seq == seq and r.terms == terms and read and now - read < ttl then
			rows[#rows + 1] = {agent, id, call('HGET', key('i', agent), 'name') or '', r.data, some[i + 1], read, r.origin}
		end
	end
	return {#some == 2 * many and 'again' or 'done', removed, call('ZCOUNT', reads, '(' .. number(now - ttl), '+inf'), rows}
end

function ops.totals()
	return {'done', removed, call('ZCARD', reads), call('ZCARD', agents), call('HGET', state, 'bytes') or '0', call('ZCARD', graveyard)}
end

return ops[op](unpack(ARGV, 11))
