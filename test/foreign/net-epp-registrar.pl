# A registrar that does what it is told on standard input, and says what it sees, by the methods of Net::EPP::Simple.
#
#   perl net-epp-registrar.pl <port> <CA file> <registrar> <password> [<URI of an extension that its login requests> …]
#
# Without URIs the login requests all that the greeting announces. Reads a request per line, in words:
#   domain NAME [CODE] | host NAME | contact ID | request NAME CODE | query NAME | poll
# Prints a line of JSON for the login and for each request: the result code, and what the answer brought.
use strict;
use warnings;
use JSON::PP;
use Net::EPP::Simple;

my ($port, $ca_file, $user, $pass, @extensions) = @ARGV;
my $json = JSON::PP->new->utf8->canonical;
$| = 1;

sub say_what {
	my ($code, $brought) = @_;
	print $json->encode({ code => int($code // 0), %{$brought // {}} }), "\n";
}

my $epp = Net::EPP::Simple->new(
	host => 'localhost', port => $port, user => $user, pass => $pass,
	verify => 1, ca_file => $ca_file, timeout => 60, reconnect => 0, load_config => 0,
	(@extensions ? (extensions => \@extensions) : ()),
);
say_what($Net::EPP::Simple::Code);
exit unless ($epp);

# Simple does not read the extension of RFC 3915.
sub rgp_statuses {
	my ($name) = @_;
	my $frame = Net::EPP::Frame::Command::Info::Domain->new;
	$frame->setDomain($name);
	my $answer = $epp->request($frame);
	return [sort map { $_->getAttribute('s') } $answer->getElementsByTagNameNS('urn:ietf:params:xml:ns:rgp-1.0', 'rgpStatus')];
}

# Simple has no polling. The message is acknowledged.
sub poll {
	my $answer = $epp->request(Net::EPP::Frame::Command::Poll::Req->new);
	my $code = $epp->_get_response_code($answer);
	return ($code, {}) if ($code != 1301);
	my $queue = $answer->getNode('msgQ');
	my %brought = map { $_->localName => $_->textContent } map { $_->childNodes } $answer->getElementsByLocalName('trnData');
	my $ack = Net::EPP::Frame::Command::Poll::Ack->new;
	$ack->setMsgID($queue->getAttribute('id'));
	my $acked = $epp->_get_response_code($epp->request($ack));
	die "the message could not be acknowledged: $acked\n" if ($acked != 1000);
	return ($code, \%brought);
}

my %verbs = (
	domain => sub {
		my ($name, $authInfo) = @_;
		my $info = $epp->domain_info($name, $authInfo);
		my $code = $Net::EPP::Simple::Code;
		return ($code, ref($info) eq 'HASH' ? { %$info, rgp => rgp_statuses($name) } : undef);
	},
	host    => sub { my $info = $epp->host_info(@_); return ($Net::EPP::Simple::Code, $info) },
	contact => sub { my $info = $epp->contact_info(@_); return ($Net::EPP::Simple::Code, $info) },
	request => sub { my $brought = $epp->domain_transfer_request(@_, 1); return ($Net::EPP::Simple::Code, $brought) },
	# Its own domain_transfer_query warns of the authInfo that a query need not have.
	query   => sub { my $brought = $epp->_transfer_request('query', 'domain', @_, ''); return ($Net::EPP::Simple::Code, $brought) },
	poll    => \&poll,
);

while (my $line = <STDIN>) {
	my ($verb, @words) = split(' ', $line);
	say_what($verbs{$verb}->(@words));
}
$epp->logout;
