/* Words of User-Agents, in the order in which they decide: apps name the system that they run on as well. */
#include "http/agent.h"

static bool has(struct span text, const char *word)
{
	return memmem(text.at, text.size, word, strlen(word)) != NULL;
}

enum agent agent_of(struct span user_agent)
{
	static const struct {
		const char *word;
		enum agent  agent;
	} words[] = {
	    {"FBAN", AGENT_IN_APP},        {"FBAV", AGENT_IN_APP},
	    {"FB_IAB", AGENT_IN_APP},      {"Instagram", AGENT_IN_APP},
	    {"Line/", AGENT_IN_APP},       {"MicroMessenger", AGENT_IN_APP},
	    {"Snapchat", AGENT_IN_APP},    {"TikTok", AGENT_IN_APP},
	    {"musical_ly", AGENT_IN_APP},  {"BytedanceWebview", AGENT_IN_APP},
	    {"LinkedInApp", AGENT_IN_APP}, {"Pinterest/", AGENT_IN_APP},
	    {"Twitter for", AGENT_IN_APP}, {"KAKAOTALK", AGENT_IN_APP},
	    {"GSA/", AGENT_IN_APP},  /* Google's app on iOS */
	    {"; wv)", AGENT_IN_APP}, /* any WebView of Android */
	    {"iPhone", AGENT_APPLE},       {"iPad", AGENT_APPLE},
	    {"iPod", AGENT_APPLE},         {"Android", AGENT_ANDROID},
	    {"Macintosh", AGENT_APPLE}, /* an iPad too, by default */
	};
	for (unsigned i = 0; user_agent.size && i < sizeof words / sizeof *words; i++)
		if (has(user_agent, words[i].word)) return words[i].agent;
	return AGENT_OTHER;
}
